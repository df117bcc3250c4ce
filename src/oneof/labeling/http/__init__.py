"""The labeling page over HTTP: the application, its description, the server, and the files of the page."""

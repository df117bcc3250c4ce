// Requests to the server of the page.

import { showAlert } from "./elements.js";

const MAX_TRIES = 4; // of a request without response, one per second; its key prevents a second entry

export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}

export class Conflict extends Error {}

function request(path, content) {
  return fetch(`api/${path}`, {
    method: content ? "POST" : "GET",
    headers: content ? { "Content-Type": "application/json" } : {},
    body: content ? JSON.stringify(content) : undefined,
    cache: "no-store", credentials: "omit", redirect: "error",
  });
}

export async function send(path, content) {
  for (let attempt = 1; ; attempt += 1) {
    let response;
    try {
      response = await request(path, content);
    } catch {
      if (attempt === MAX_TRIES) throw new Error("The server does not respond. Restart it and open its new link; every confirmed answer is saved.");
      showAlert("The server does not respond. Trying again …");
      await new Promise((done) => setTimeout(done, 1000));
      continue;
    }
    showAlert("");
    if (response.ok) return response.json();
    const message = (response.headers.get("Content-Type") ?? "").startsWith("application/json") ? (await response.json()).error : await response.text();
    if (response.status === 409) throw new Conflict(message);
    throw new Error(message);
  }
}

// Return a response of the server, or null after an error: the next answer requests it again.
export async function sendQuietly(path, content) {
  try {
    const response = await request(path, content);
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}

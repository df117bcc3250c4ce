// Talking to the server, and what the browser remembers of who talks. Whatever is fetched comes from the page's own server.

import { alertOf } from "./elements.js";

const TRIES = 4; // of a request that got no response, one a second; its key keeps an answer from being written twice

export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}

export function remembered(storage, name, initial) {
  let value = null; // kept here too, for browsers that keep nothing
  return {
    get() {
      try { value = storage().getItem(name) ?? value; } catch { /* not allowed */ }
      if (value === null) this.set(initial());
      return value;
    },
    set(other) {
      value = other;
      try { storage().setItem(name, other); } catch { /* not allowed */ }
    },
  };
}

export class Refused extends Error {}

export async function send(path, content) {
  for (let tried = 1; ; tried += 1) {
    let response;
    try {
      response = await fetch(`api/${path}`, {
        method: content ? "POST" : "GET",
        headers: content ? { "Content-Type": "application/json" } : {},
        body: content ? JSON.stringify(content) : undefined,
        cache: "no-store", credentials: "omit", redirect: "error",
      });
    } catch {
      if (tried === TRIES) throw new Error("The server does not answer. Start it again, and open its new link: every answer that was confirmed is kept.");
      alertOf("The server does not answer. Trying again …");
      await new Promise((done) => setTimeout(done, 1000));
      continue;
    }
    alertOf("");
    if (response.ok) return response.json();
    const told = (response.headers.get("Content-Type") ?? "").startsWith("application/json") ? (await response.json()).error : await response.text();
    if (response.status === 409) throw new Refused(told);
    throw new Error(told);
  }
}

// Values stored in the browser.

// Return the accessors of a value in localStorage or sessionStorage; `initial` is used until a value is set.
export function stored(storage, name, initial) {
  let value = null; // fallback for browsers without storage
  return {
    get() {
      try { value = storage().getItem(name) ?? value; } catch { /* not allowed */ }
      if (value === null) this.set(initial());
      return value;
    },
    set(newValue) {
      value = newValue;
      try { storage().setItem(name, newValue); } catch { /* not allowed */ }
    },
  };
}

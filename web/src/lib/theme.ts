// Light or dark: as the system says, or as was chosen here.
import { store } from "./store";

export type Theme = "light" | "dark";

const NAME = "vigie-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function chosen(): Theme | null {
  try {
    const text = localStorage.getItem(NAME);
    return text === "light" || text === "dark" ? text : null;
  } catch {
    return null; // a browser that keeps nothing
  }
}

function current(): Theme {
  return chosen() ?? (system.matches ? "dark" : "light");
}

export const theme = store<Theme>(current());

function show(): void {
  document.documentElement.dataset.theme = current();
  colours.clear();
  theme.set(current());
}

/** Change to the other one, and remember it if it is not the system's. */
export function toggle(): void {
  const next: Theme = current() === "dark" ? "light" : "dark";
  try {
    if ((next === "dark") === system.matches) localStorage.removeItem(NAME);
    else localStorage.setItem(NAME, next);
  } catch {
    return;
  }
  show();
}

export function startTheme(): void {
  system.addEventListener("change", show);
  show();
}

const colours = new Map<string, string>();

/** Return a colour of the style sheet by name, for what is drawn on a canvas. */
export function colour(name: string): string {
  let value = colours.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    colours.set(name, value);
  }
  return value;
}

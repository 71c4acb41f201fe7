// The whole state of a page is its address; links are relative to <base>, so that any prefix works.
import { store, useStore } from "./store";
import { WEB_PAGES } from "./types";

export interface Place {
  parts: string[]; // "gpu/gpu01/3" is ["gpu", "gpu01", "3"]; the Cluster page is []
  query: URLSearchParams;
}

export type Changes = Record<string, string | number | null | undefined>;

const BASE = new URL(document.baseURI);
const KEPT = ["from", "to", "at"]; // these go along from page to page
const PAGES = WEB_PAGES.map(({ name }) => name).filter(Boolean);

/** Return the address of something on this server, such as "api/events". */
export function address(path: string): string {
  return new URL(path, BASE).href;
}

function placeOf(url: URL): Place {
  const path = url.pathname.slice(BASE.pathname.length);
  return { parts: path.split("/").filter(Boolean).map(decoded), query: url.searchParams };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // an address typed by hand
  }
}

const place = store<Place>(placeOf(new URL(location.href)));

export function usePlace(): Place {
  return useStore(place);
}

export function currentPlace(): Place {
  return place.get();
}

/** Return a path of the page from its parts, each written so that any character may stand in it. */
export function path(...parts: (string | number)[]): string {
  return parts.map((part) => encodeURIComponent(String(part))).join("/");
}

/** Return a link to another page, which keeps the time range; what it says itself goes first. */
export function link(to: string, changes: Changes = {}): string {
  const [where, search] = split(to);
  const query = new URLSearchParams();
  const now = place.get().query;
  for (const name of KEPT) if (now.has(name)) query.set(name, now.get(name) ?? "");
  for (const [name, value] of new URLSearchParams(search)) query.set(name, value);
  return joined(where, changed(query, changes));
}

/** Return a link to this page with some of its state changed; null takes a name away. */
export function here(changes: Changes): string {
  const { parts, query } = place.get();
  return joined(path(...parts), changed(new URLSearchParams(query), changes));
}

/** Go to a link; in place of this one if it is not worth a step back. */
export function go(to: string, replace = false): void {
  const url = new URL(to || "./", BASE);
  if (replace || url.href === location.href) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  const before = place.get();
  place.set(placeOf(url));
  if (before.parts.join("/") !== place.get().parts.join("/")) scrollTo(0, 0);
}

function split(to: string): [string, string] {
  const at = to.indexOf("?");
  return at < 0 ? [to, ""] : [to.slice(0, at), to.slice(at + 1)];
}

function changed(query: URLSearchParams, changes: Changes): URLSearchParams {
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") query.delete(name);
    else query.set(name, String(value));
  }
  return query;
}

function joined(where: string, query: URLSearchParams): string {
  const text = query.toString();
  return (where || "./") + (text ? `?${text}` : "");
}

/** Tell whether an address is one of the page's own, not the API's or another server's. */
export function isOurs(url: URL): boolean {
  if (url.origin !== BASE.origin || !url.pathname.startsWith(BASE.pathname)) return false;
  const first = placeOf(url).parts[0];
  return first === undefined || PAGES.includes(first);
}

function clicked(event: MouseEvent): void {
  if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  const anchor = (event.target as Element | null)?.closest?.("a");
  if (!anchor?.href || anchor.target || anchor.hasAttribute("download")) return;
  if (!isOurs(new URL(anchor.href))) return;
  event.preventDefault();
  go(anchor.href);
}

/** Let links and the Back button change the page without loading it anew. */
export function follow(): void {
  const base = document.querySelector("base");
  if (base) base.href = BASE.href;
  document.addEventListener("click", clicked);
  addEventListener("popstate", () => place.set(placeOf(new URL(location.href))));
}

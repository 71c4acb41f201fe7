// The pages, by the question they answer; below, what operators look up.
import { useEffect, useRef } from "preact/hooks";
import { type Session, WEB_PAGES } from "../lib/types";
import { link, path, usePlace } from "../lib/url";

/** An entry: its address, its text, and the pages that stand below it. */
type Entries = [string, string, string[]][];

function entries(tool: boolean): Entries {
  return WEB_PAGES.filter((page) => page.title && page.tool === tool).map(({ name, title }) => [
    name,
    title,
    WEB_PAGES.filter(({ menu }) => menu && menu === name).map((page) => page.name),
  ]);
}

export function Menu({ session }: { session: Session | null }) {
  const own: Entries = session?.user ? [[path("user", session.user), "My GPUs", []]] : [];
  return (
    <nav class="menu" aria-label="Pages">
      <ul>{entries(false).map(entry)}</ul>
      <ul>{[...own, ...entries(true)].map(entry)}</ul>
    </nav>
  );
}

function entry([to, text, below]: [string, string, string[]]) {
  return <Entry key={to} to={to} text={text} below={below} />;
}

function Entry({ to, text, below }: { to: string; text: string; below: string[] }) {
  const { parts } = usePlace();
  const current = path(...parts) === to || (parts[0] !== undefined && below.includes(parts[0]));
  const shown = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (current && shown.current) center(shown.current);
  }, [current]);
  return (
    <li ref={shown}>
      <a href={link(to)} aria-current={current ? "page" : undefined}>
        {text}
      </a>
    </li>
  );
}

/** Scroll a phone's menu to an entry. scrollIntoView would also move where the first Tab goes. */
function center(item: HTMLElement) {
  const menu = item.closest("nav");
  if (!menu) return;
  const { left, width } = item.getBoundingClientRect();
  menu.scrollLeft += left - menu.getBoundingClientRect().left - (menu.clientWidth - width) / 2;
}

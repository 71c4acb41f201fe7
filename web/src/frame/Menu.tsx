// The pages, by the question they answer; below, what operators look up.
import { useEffect, useRef } from "preact/hooks";
import type { Session } from "../lib/types";
import { link, path, usePlace } from "../lib/url";

const PAGES: [string, string, string[]][] = [
  ["", "Cluster", []],
  ["jobs", "Jobs", ["job"]],
  ["nodes", "Nodes", ["node", "gpu"]],
  ["users", "Users", ["user"]],
  ["events", "Events", []],
];
const TOOLS: [string, string, string[]][] = [
  ["dashboards", "Dashboards", ["dashboard"]],
  ["explore", "Explore", []],
  ["vigie", "vigie itself", []],
];

export function Menu({ session }: { session: Session | null }) {
  const own: [string, string, string[]][] = session?.user
    ? [[path("user", session.user), "My GPUs", []]]
    : [];
  return (
    <nav class="menu" aria-label="Pages">
      <ul>{PAGES.map(entry)}</ul>
      <ul>{[...own, ...TOOLS].map(entry)}</ul>
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
    if (current) shown.current?.scrollIntoView({ block: "nearest", inline: "nearest" }); // a phone shows some
  }, [current]);
  return (
    <li ref={shown}>
      <a href={link(to)} aria-current={current ? "page" : undefined}>
        {text}
      </a>
    </li>
  );
}

// Which page an address means.
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { Shell } from "./frame/Shell";
import { link, usePlace } from "./lib/url";
import { Absent } from "./parts/Absent";

type Page = ComponentType<{ parts: string[] }>;

// All pages come at once: together they weigh less than the questions that a second load would hold up.
const PAGES: Record<string, Page> = {};
for (const [file, page] of Object.entries(
  import.meta.glob<Page>("./pages/*.tsx", { eager: true, import: "default" }),
)) {
  PAGES[file.slice("./pages/".length, -".tsx".length)] = page;
}

export function App() {
  const { parts } = usePlace();
  const [name = "cluster", ...others] = parts;
  useEffect(() => {
    document.title = parts.length ? `${parts.join(" ")} · vigie` : "vigie";
  }, [parts.join("/")]);
  const Shown = PAGES[name];
  return <Shell>{Shown ? <Shown parts={others} /> : <Nowhere />}</Shell>;
}

function Nowhere() {
  return (
    <Absent height={200}>
      {"There is no such page. "}
      <a class="way" href={link("")}>
        To the cluster
      </a>
    </Absent>
  );
}

// Which page an address means.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Shell } from "./frame/Shell";
import { usePlace } from "./lib/url";
import Cluster from "./pages/cluster";
import { Absent } from "./parts/Absent";

type Loaded = ComponentType<{ parts: string[] }>;

// A page is loaded when it is first shown; the Cluster page, which most see first, comes with the frame.
const LATER: Record<string, () => Promise<Loaded>> = {};
for (const [file, load] of Object.entries(
  import.meta.glob<{ default: Loaded }>(["./pages/*.tsx", "!./pages/cluster.tsx"]),
)) {
  const name = file.slice("./pages/".length, -".tsx".length);
  LATER[name] = async () => (await load()).default;
}
const loaded = new Map<string, Loaded>();

export function App() {
  const { parts } = usePlace();
  const name = parts[0] ?? "";
  useEffect(() => {
    document.title = parts.length ? `${parts.join(" ")} · vigie` : "vigie";
  }, [parts.join("/")]);
  return <Shell>{name === "" ? <Cluster /> : <Page name={name} parts={parts.slice(1)} />}</Shell>;
}

function Page({ name, parts }: { name: string; parts: string[] }) {
  const [, turn] = useState(0);
  const [error, setError] = useState<Error | null>(null);
  const Shown = loaded.get(name);
  useEffect(() => {
    if (loaded.has(name)) return;
    const load = LATER[name];
    if (!load) return;
    load()
      .then((component) => {
        loaded.set(name, component);
        turn((n) => n + 1);
      })
      .catch(setError);
  }, [name]);
  if (Shown) return <Shown parts={parts} />;
  if (error)
    return <Absent height={200}>{`The page could not be loaded: ${error.message}. Load it anew.`}</Absent>;
  if (!LATER[name]) return <Absent height={200}>There is no such page.</Absent>;
  return <div class="waiting" />;
}

// Ctrl-K: nodes, GPUs, jobs, users, events, metrics and pages by name.
import { useEffect, useRef, useState } from "preact/hooks";
import { fetchJson } from "../lib/api";
import type { SearchResult } from "../lib/types";
import { go, link } from "../lib/url";

const PAUSE = 120; // ms without a key before the server is asked

export function Search() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [open, setOpen] = useState(false);
  const [times, setTimes] = useState(0); // that it was closed: each time begins with an empty field
  const begin = () => {
    if (dialog.current?.open) return;
    dialog.current?.showModal(); // at once: who types on must not lose the first letters
    setOpen(true);
  };
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      const typing = (event.target as HTMLElement).closest?.("input, textarea, select, .editor");
      const wanted = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
      if (!wanted && !(event.key === "/" && !typing)) return;
      event.preventDefault();
      begin();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);
  return (
    <>
      <button type="button" class="search" onClick={begin}>
        <span>Search</span> <kbd>Ctrl K</kbd>
      </button>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself */}
      <dialog
        ref={dialog}
        class="finder"
        aria-label="Search"
        onClose={() => {
          setOpen(false);
          setTimes((before) => before + 1);
        }}
        onClick={(event) => event.target === event.currentTarget && event.currentTarget.close()}
      >
        <Finder key={times} asking={open} close={() => dialog.current?.close()} />
      </dialog>
    </>
  );
}

function Finder({ asking, close }: { asking: boolean; close: () => void }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState<SearchResult[]>([]);
  const [asked, setAsked] = useState<string | null>(null); // what `found` fits
  const typed = useRef(""); // what stands in the field, before it is drawn anew
  const eager = useRef(false); // Enter was pressed before the answer came
  const [chosen, setChosen] = useState(0);
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    if (!asking) return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      fetchJson<{ found: SearchResult[] }>(`api/search?q=${encodeURIComponent(text)}`, stop.signal)
        .then((answer) => {
          if (text !== typed.current) return; // the next answer is under way
          if (eager.current) open(answer.found[0]);
          eager.current = false;
          setFound(answer.found);
          setAsked(text);
          setChosen(0);
          setTrouble(answer.found.length || !text ? "" : "Nothing has this name.");
        })
        .catch((error: Error) => !stop.signal.aborted && setTrouble(error.message));
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text, asking]);
  const open = (one: SearchResult | undefined) => {
    if (!one) return;
    close();
    go(link(one.link));
  };
  const key = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setChosen(Math.min(chosen + 1, found.length - 1));
    else if (event.key === "ArrowUp") setChosen(Math.max(chosen - 1, 0));
    else if (event.key === "Enter" && asked !== typed.current) eager.current = true;
    else if (event.key === "Enter") open(found[chosen]);
    else return;
    event.preventDefault();
  };
  // The field of the results below, which a <datalist> could not show.
  const field: object = {
    role: "combobox",
    "aria-expanded": found.length > 0,
    "aria-controls": "found",
    "aria-activedescendant": found.length ? `found-${chosen}` : undefined,
  };
  return (
    <div class="finding">
      <input
        {...field}
        aria-label="Search nodes, GPUs, jobs, users, events and metrics"
        placeholder="Node, GPU, job, user, event, metric"
        value={text}
        autofocus
        onInput={(event) => {
          eager.current = false;
          typed.current = event.currentTarget.value;
          setText(typed.current);
        }}
        onKeyDown={key}
      />
      <div id="found" role="listbox" aria-label="Search results">
        {found.map((one, i) => (
          // biome-ignore lint/a11y/useFocusableInteractive lint/a11y/useKeyWithClickEvents: as above
          <div
            key={one.link + one.name}
            id={`found-${i}`}
            role="option"
            aria-selected={i === chosen}
            onMouseMove={() => setChosen(i)}
            onClick={() => open(one)}
          >
            <span class="kind">{one.kind}</span>
            <span class="name">{one.name}</span>
            <span class="note">{one.note}</span>
          </div>
        ))}
      </div>
      {trouble && <p class="calm">{trouble}</p>}
    </div>
  );
}

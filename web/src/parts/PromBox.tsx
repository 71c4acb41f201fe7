// The field one writes PromQL into; until its editor is loaded, and where it cannot be, a plain one.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Editor } from "../lib/editor";

export function PromBox({ text, run }: { text: string; run: (text: string) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const made = useRef<Editor | null>(null);
  const [plain, setPlain] = useState(text);
  const [ready, setReady] = useState(false);
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    let gone = false;
    void import("../lib/editor")
      .then(({ editor }) => {
        if (gone || !box.current) return;
        made.current = editor(box.current, text, () => latest.current(made.current?.text() ?? ""));
        setReady(true);
      })
      .catch(() => undefined); // the plain field does
    return () => {
      gone = true;
      made.current?.end();
    };
  }, []);
  useEffect(() => {
    if (ready) made.current?.focus();
  }, [ready]);
  useEffect(() => {
    setPlain(text);
    made.current?.setText(text);
  }, [text]);
  const ask = () => run(made.current?.text() ?? plain);
  return (
    <form
      class="prombox"
      onSubmit={(event) => {
        event.preventDefault();
        ask();
      }}
    >
      <div ref={box} class="editor" hidden={!ready} />
      {!ready && (
        <input aria-label="PromQL" value={plain} onInput={(event) => setPlain(event.currentTarget.value)} />
      )}
      <button type="submit" class="button">
        Ask
      </button>
    </form>
  );
}

// The PromQL box: completion, colours and marks of mistakes. It is loaded when Explore is first shown.
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, insertNewline } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { lintKeymap } from "@codemirror/lint";
import { EditorState, Prec } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { PromQLExtension } from "@prometheus-io/codemirror-promql";
import { address } from "./url";

export interface Editor {
  text: () => string;
  setText: (text: string) => void;
  focus: () => void;
  end: () => void;
}

const COLOURS = HighlightStyle.define([
  {
    tag: [tags.function(tags.variableName), tags.keyword, tags.operatorKeyword, tags.modifier],
    color: "var(--code-word)",
  },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-text)" },
  { tag: [tags.number, tags.literal], color: "var(--code-number)" },
  { tag: tags.labelName, color: "var(--code-label)" },
  {
    tag: [tags.operator, tags.punctuation, tags.paren, tags.brace, tags.squareBracket],
    color: "var(--ink-2)",
  },
  { tag: tags.comment, color: "var(--ink-3)", fontStyle: "italic" },
  { tag: tags.invalid, color: "var(--critical)" },
]);

const LOOK = EditorView.theme({
  "&": { color: "var(--ink)", fontSize: "14px" },
  "&.cm-focused": { outline: "none" },
  ".cm-content": {
    padding: "7px 2px",
    fontFamily: "var(--mono)",
    lineHeight: "1.7", // so that a list of completions leaves underscores in view
    caretColor: "var(--ink)",
  },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-placeholder": { color: "var(--ink-3)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground, ::selection":
    {
      background: "var(--n2) !important",
    },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": {
    background: "var(--n1)",
    outline: "1px solid var(--n3)",
  },
  ".cm-tooltip": {
    background: "var(--raised)",
    color: "var(--ink)",
    border: "1px solid var(--rule)",
    borderRadius: "7px",
    boxShadow: "var(--lifted)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": {
    fontFamily: "var(--mono)",
    maxHeight: "18em",
    borderRadius: "6px",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 10px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { background: "var(--n1)", color: "var(--ink)" },
  ".cm-completionDetail": { color: "var(--ink-3)", fontStyle: "normal" },
  ".cm-tooltip.cm-completionInfo": { padding: "8px 10px", maxWidth: "320px", fontSize: "13px" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  // A mark drawn by the page itself: the usual one is an image that the security policy refuses.
  ".cm-lintRange-error, .cm-lintRange-warning": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--critical) 1px",
    textUnderlineOffset: "3px",
  },
  ".cm-diagnostic": { padding: "6px 10px", borderLeft: "3px solid var(--critical)" },
});

/** Put the box into an element; `run` is called by Enter, with Shift it is a new line. */
export function editor(into: HTMLElement, text: string, run: () => void): Editor {
  // In a shadow root its styles are adopted, not written into the page, which the security policy refuses.
  const root = into.shadowRoot ?? into.attachShadow({ mode: "open", delegatesFocus: true });
  const promql = new PromQLExtension().setComplete({
    remote: { url: address(".").replace(/\/$/, ""), httpMethod: "GET" },
  });
  const enter = Prec.high(keymap.of([{ key: "Shift-Enter", run: insertNewline }]));
  const go = keymap.of([
    {
      key: "Enter",
      run: () => {
        run();
        return true;
      },
    },
  ]);
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        enter,
        Prec.highest(keymap.of(completionKeymap)),
        Prec.high(go),
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...lintKeymap]),
        history(),
        autocompletion({ defaultKeymap: false, icons: false }),
        closeBrackets(),
        bracketMatching(),
        placeholder("A question in PromQL, such as avg by (instance) (vigie_gpu_busy_ratio)"),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": "PromQL" }),
        syntaxHighlighting(COLOURS),
        LOOK,
        promql.asExtension(),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    setText: (next) => {
      if (next !== view.state.doc.toString()) {
        view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
      }
    },
    focus: () => view.focus(),
    end: () => {
      view.destroy();
      promql.destroy();
    },
  };
}

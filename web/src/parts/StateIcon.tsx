// The sign of a state: its form tells it also to those who do not see the colour.

const WORDS: Record<string, string> = {
  ok: "all is well",
  warning: "warning",
  critical: "critical",
  lost: "lost",
  info: "for your information",
  unknown: "not known",
};
const FORMS: Record<string, string> = {
  ok: "M3.5 8.5l3 3 6-7",
  warning: "M8 2.5l6 11H2zM8 6.5v3.5M8 12v.2",
  critical: "M5 2h6l3 3v6l-3 3H5l-3-3V5zM8 4.8v4M8 11v.3",
  lost: "M3 3l10 10M13 3L3 13",
  info: "M8 3v.3M8 6.5V13",
  unknown: "M5.5 6a2.5 2.5 0 1 1 3.6 2.2C8.3 8.700 8 9 8 10M8 12.500v.3",
};

export function StateIcon({ state }: { state: string }) {
  return (
    <svg class={`mark ${state}`} viewBox="0 0 16 16" role="img" aria-label={WORDS[state] ?? state}>
      <path d={FORMS[state] ?? FORMS.unknown} />
    </svg>
  );
}

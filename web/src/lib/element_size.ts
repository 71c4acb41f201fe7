// How wide an element is, and whether it has come into view.
import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

export function useWidth(of: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!of.current) return;
    const watching = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    watching.observe(of.current);
    return () => watching.disconnect();
  }, [of]);
  return width;
}

/** Tell whether an element has been near the visible part: what nobody scrolls to asks nothing. */
export function useVisible(of: RefObject<HTMLElement | null>): boolean {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (!of.current || seen) return;
    const watching = new IntersectionObserver(
      (entries) => entries.some(({ isIntersecting }) => isIntersecting) && setSeen(true),
      { rootMargin: "300px" },
    );
    watching.observe(of.current);
    return () => watching.disconnect();
  }, [of, seen]);
  return seen;
}

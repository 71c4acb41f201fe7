// A value that many look at: those who do are told when it changes.
import { useEffect, useState } from "preact/hooks";

export interface Store<T> {
  get: () => T;
  set: (value: T) => void;
  watch: (told: () => void) => () => void;
}

export function store<T>(first: T): Store<T> {
  let value = first;
  const watchers = new Set<() => void>();
  return {
    get: () => value,
    set: (next) => {
      if (Object.is(next, value)) return;
      value = next;
      for (const told of [...watchers]) told();
    },
    watch: (told) => {
      watchers.add(told);
      return () => watchers.delete(told);
    },
  };
}

export function useStore<T>(of: Store<T>): T {
  const [value, setValue] = useState(of.get());
  useEffect(() => {
    setValue(() => of.get());
    return of.watch(() => setValue(() => of.get()));
  }, [of]);
  return value;
}

import { defineConfig } from "vite";

// Where the data comes from while one works on the page: VIGIE=http://127.0.0.1:8000 npm run dev
const server = process.env.VIGIE ?? "http://127.0.0.1:8000";
const paths = ["/api", "/login", "/healthz", "/metrics"];

export default defineConfig({
  base: "./", // any prefix of a proxy will do; the server says in <base> how deep a page stands
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: {
    target: "es2022",
    outDir: "../src/vigie/page",
    emptyOutDir: true,
    assetsInlineLimit: 0, // nothing by data: address, which the content security policy refuses
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: {
    host: "127.0.0.1",
    proxy: Object.fromEntries(paths.map((path) => [path, { target: server, changeOrigin: true }])),
  },
});

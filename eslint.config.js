import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: [".venv*/", "node_modules/", "site/"] },
  js.configs.recommended,
  {
    files: ["services/**/*.js", "soliloquy/**/*.js"],
    languageOptions: { globals: globals.browser },
    rules: { eqeqeq: "error", "no-var": "error", "prefer-const": "error" },
  },
  { files: ["tests/**/*.js", "*.js"], languageOptions: { globals: globals.node } },
];

export default {
  input: "openapi.json",
  output: { path: "hey", module: { extension: ".ts" } },
  plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"]
}

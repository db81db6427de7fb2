import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/setup-postgres.ts"],
    // Starting a server or a database on a busy two-core machine takes its time; tests never assert on it.
    testTimeout: 120_000,
    hookTimeout: 120_000
  }
})

import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/setup-postgres.ts"],
    // Commands under test sync when they are told to.
    env: { FLIGHTCASE_NO_BACKGROUND: "1" },
    // Starting a server or a database on a busy two-core machine takes its time; tests never assert on it.
    // Both cores: most of a test is waiting for a database or another process.
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000
  }
})

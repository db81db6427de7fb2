import { globSync } from "node:fs"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import { leftOut, parts } from "./test/share.ts"
import { makeTemporaryFolder } from "./test/temporary-folder.ts"
import { words } from "./test/words.ts"

const tests = "test/**/*.test.ts"
/** Tests that say of themselves, by their file's name, that they take long: they stand beside their short brothers. */
const long_tests = "test/**/*.long.test.ts"
const seeds = ["1-to-250", "251-to-500", "501-to-750", "751-to-1000"].map(
  (part) => `test/sim/seeds-${part}.long.test.ts`
)

/** With a share of a run on both engines, these short files are played on SQLite where one engine is enough. */
const on_sqlite =
  parts > 1 && process.env["FLIGHTCASE_TEST_ENGINES"] === "both"
    ? leftOut(globSync(tests, { exclude: [long_tests] }).toSorted())
    : []
// Files share what they import: loading it again for each file takes as long as the short tests do. So none may leave
// anything of the process changed: its environment, its clock, what it spies on.
const sharing_imports = { isolate: false, maxWorkers: 2, sequence: { groupOrder: 1 } }

/** Files that take longest, the longest first; without a record of an earlier run, vitest would start the largest first. */
const longest = words(
  `/sim/seeds- /e2e/leaving. /cli/sessions. /week/week. /core/any-request. /api/races.long /server/pages. /api/fuzz.
   /api/metering- /webhooks/races. /jobs/jobs. /opportunity-scenarios. /output/out.`
)
class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const placeOf = ({ moduleId }: TestSpecification): number =>
      [...longest, ""].findIndex((name) => moduleId.includes(name))
    const projects = Map.groupBy(await super.sort(files), ({ project }) => project)
    return [...projects.values()].flatMap((some) => some.toSorted((one, other) => placeOf(one) - placeOf(other)))
  }
}

makeTemporaryFolder()

export default defineConfig({
  test: {
    globalSetup: ["test/setup-postgres.ts"],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: { name: "short", include: [tests], exclude: [long_tests, ...on_sqlite], ...sharing_imports }
      },
      ...(on_sqlite.length === 0
        ? []
        : [
            {
              extends: true as const,
              test: {
                name: "short-on-sqlite",
                include: on_sqlite,
                env: { FLIGHTCASE_TEST_ENGINES: "sqlite" },
                ...sharing_imports
              }
            }
          ]),
      // What `npm run package` makes, on bare systems.
      {
        extends: true,
        test: { name: "ship", include: ["test/ship/*.ship.ts"], testTimeout: 1_800_000, hookTimeout: 1_800_000 }
      },
      // More of them than there are cores: half of their time they wait for servers, clocks and other processes.
      {
        extends: true,
        test: {
          name: "long",
          include: [long_tests],
          exclude: leftOut(seeds),
          isolate: false,
          maxWorkers: 4,
          sequence: { groupOrder: 0 },
          testTimeout: 600_000,
          hookTimeout: 600_000
        }
      }
    ],
    // Commands under test sync when they are told to.
    env: { FLIGHTCASE_NO_BACKGROUND: "1" },
    // Starting a server or a database on a busy two-core machine takes its time; tests never assert on it.
    testTimeout: 120_000,
    hookTimeout: 120_000
  }
})

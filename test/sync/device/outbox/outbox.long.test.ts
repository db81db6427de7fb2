import { it } from "vitest"
import { survivesKills } from "./killed.ts"

it("what an outbox acknowledged survives thirty processes killed at any moment", () => survivesKills(30))

import { it } from "vitest"
import { survivesKills } from "./killed.ts"
import { shareOf } from "../../../share.ts"

it("what an outbox acknowledged survives processes killed at any moment", () => survivesKills(shareOf(30)))

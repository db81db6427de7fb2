import { it } from "vitest"
import { survivesKills } from "./killed.ts"
import { shareOf } from "../../../share.ts"

it("acknowledged commands survive processes killed at any moment", () => survivesKills(shareOf(30)))

/** What was believed at an earlier time is asked seldom: its rules are loaded when it is. */
import { later } from "../kernel/later.ts"

export const pastStock = later(() => import("./as-of.ts"))

import { simulatePart } from "./thousand-seeds.ts"

simulatePart(0)

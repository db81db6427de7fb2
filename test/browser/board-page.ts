/**
 * Opens boards in a browser at the sizes of a phone, a desk and a wall, light and dark: checks them, changes the day
 * and waits for the change, cuts one off from its server and ends it. Leaves pictures; exits with 1 if a page is wrong:
 * node test/browser/board-page.ts [FOLDER]
 */
import { busyDay, lookAtOnce, lookInEveryView, loseAndEnd, stocked } from "./boards.ts"
import { openBrowser } from "./browser.ts"
import { endWith, lookedAtWith, openHouse } from "./house.ts"

const { folder, path } = lookedAtWith("board")
const house = await stocked(await openHouse(folder))
const browser = await openBrowser(path)
const complaints: Array<string> = []
const looking = { house, browser, folder, say: (text: string) => void complaints.push(text) }
const made = async (json: object) => (await house.did("POST", "/boards", json)).board
try {
  await lookAtOnce(looking, (await made({ name: "Main Warehouse", store_id: 1 })).url, "empty")
  const quiet = await made({ name: "Office at the far end of the first floor, behind the kitchen, by the door" })
  await lookInEveryView(looking, quiet.url, "quiet")
  await busyDay(house)
  const board = await made({ name: "Warehouse", store_id: 1, shows_money: true })
  await lookInEveryView(looking, board.url, "busy")
  const { ended, lost } = await loseAndEnd(looking, board)
  process.stdout.write(`${lost}\n${ended}\nPictures are in ${folder}\n`)
} finally {
  await browser.close()
  await house.close()
}
endWith(complaints)

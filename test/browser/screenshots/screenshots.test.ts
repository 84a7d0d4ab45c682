// `make screenshots`: every page in both themes and three widths, for people to look at. Fonts differ between machines,
// so nothing compares the pictures.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { beforeAll, describe, it } from 'vitest'
import { hasBrowser } from '../support/browser.ts'
import { useConsole } from '../support/console.ts'
import { type Filled, fillPages, onEachPage } from '../support/pages.ts'

const dir = join(rootDir, '.local/screenshots')
const themes = ['light', 'dark'] as const
const widths = [375, 1_280, 2_560] as const

describe.skipIf(!hasBrowser('screenshots/write.test.ts'))('screenshots', () => {
  const console = useConsole()
  let filled: Filled
  beforeAll(async () => {
    filled = await fillPages(console)
    mkdirSync(dir, { recursive: true })
  })

  it.each(themes.flatMap((theme) => widths.map((width) => [theme, width] as const)))(
    'of every page, %s, %i pixels wide',
    async (colorScheme, width) => {
      const options = { colorScheme, reducedMotion: 'reduce', viewport: { width, height: 900 } } as const
      await onEachPage(console, { filled, options }, async (page, { name }) => {
        const path = join(dir, `${name}-${colorScheme}-${width}.png`)
        await page.screenshot({ path, fullPage: true, animations: 'disabled' })
      })
      process.stdout.write(`${colorScheme}, ${width} pixels: ${dir}\n`)
    },
    500_000,
  )
})

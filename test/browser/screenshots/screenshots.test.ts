// `make screenshots`: every page in both themes and three widths, written to .local/screenshots for people to look at
// and compared with the accepted pictures. ARGS=--update accepts the new ones.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser } from '../support/browser.ts'
import { useConsole } from '../support/console.ts'
import { type Filled, fillPages, onEachPage } from '../support/pages.ts'
import { acceptPicture, comparePicture, listAccepted, removeAccepted } from './accepted.ts'
import { makeStill } from './still.ts'

const dir = join(rootDir, '.local/screenshots')
const isUpdate = process.env.ACCEPT_SCREENSHOTS === '1'
const themes = ['light', 'dark'] as const
const widths = [375, 1_280, 2_560] as const

describe.skipIf(!hasBrowser('screenshots/screenshots.test.ts'))('screenshots', () => {
  const console = useConsole()
  let filled: Filled
  beforeAll(async () => {
    filled = await fillPages(console)
    mkdirSync(dir, { recursive: true })
  })

  it.each(themes.flatMap((theme) => widths.map((width) => [theme, width] as const)))(
    'of every page look as accepted, %s, %i pixels wide',
    async (colorScheme, width) => {
      const options = { colorScheme, reducedMotion: 'reduce', viewport: { width, height: 900 } } as const
      const variant = `${colorScheme}-${width}`
      const seen: string[] = []
      const changed: string[] = []
      await onEachPage(console, { filled, options }, async (page, { name }) => {
        await makeStill(page)
        const path = join(dir, `${name}-${variant}.png`)
        const picture = await page.screenshot({ path, fullPage: true, animations: 'disabled' })
        seen.push(name)
        if (isUpdate) return acceptPicture({ variant, name, picture })
        const change = await comparePicture({ variant, name, picture, diffFile: path.replace('.png', '.diff.png') })
        if (change !== undefined) changed.push(`${name}: ${change}; see ${path}`)
      })
      const gone = listAccepted(variant).filter((name) => !seen.includes(name))
      if (isUpdate) return gone.forEach((name) => void removeAccepted(variant, name))
      expect(changed, 'look at the pictures; make screenshots ARGS=--update accepts them').toEqual([])
      expect(gone, 'accepted pictures of pages that are gone').toEqual([])
    },
    600_000,
  )
})

// `make bench ARGS=console`: Lighthouse's scores of the playground and of the gallery, for a signed-in member with
// tasks. Its desktop preset has targets, the mobile one has none. The service runs as in `make up`, with the console
// built for production.
import { join } from 'node:path'
import { runCommand } from '@matte/local/install/run-command'
import { rootDir } from '@matte/local/paths'
import { nodePath } from '@matte/local/servers/process'
import { createInstallation } from '../installation.ts'
import { median } from '../median.ts'
import type { Row } from '../row.ts'
import { openBrowser } from './browser.ts'
import { givenMember } from './member.ts'
import { categories, type Device, devices, type Scores, score } from './score.ts'

type ConsoleOptions = {
  readonly rounds: number
  readonly say: (line: string) => void
}

const pages = { playground: '/', gallery: '/gallery' } as const

export async function measureConsole({ rounds, say }: ConsoleOptions): Promise<Row[]> {
  await runCommand(nodePath, [join(rootDir, 'api/console/build.ts')])
  const installation = await createInstallation()
  try {
    const member = await givenMember(installation)
    const browser = await openBrowser(installation.origin, member)
    try {
      const rows: Row[] = []
      for (const device of devices) {
        for (const [name, path] of Object.entries(pages)) {
          const measured: Scores[] = []
          for (let round = 0; round < rounds; round++) {
            const scores = await score({ url: `${installation.origin}${path}`, port: browser.port, device })
            measured.push(scores)
            say(`${name}, ${device}, round ${round + 1} of ${rounds}: ${describe(scores)}`)
          }
          rows.push(...rowsOf(name, device, measured))
        }
      }
      return rows
    } finally {
      await browser.close()
    }
  } finally {
    await installation.remove()
  }
}

const rowsOf = (name: string, device: Device, measured: readonly Scores[]): Row[] =>
  categories.map((category) => {
    const values = measured.map((scores) => scores[category])
    return {
      name: `Lighthouse, ${category}, ${name}, ${device}`,
      ratio: median(values),
      ...(device === 'desktop' && { target: { atLeast: 0.95 } }),
      detail: `${values.map((value) => value.toFixed(2)).join(', ')}${firstFindings(category, measured)}`,
    }
  })

const firstFindings = (category: keyof Scores['findings'], measured: readonly Scores[]): string => {
  const findings = measured[0]?.findings[category] ?? []
  return findings.length === 0 ? '' : `; below 0.9: ${findings.join(', ')}`
}

const describe = (scores: Scores): string =>
  `${categories.map((category) => `${category} ${scores[category].toFixed(2)}`).join(', ')}; ${scores.times}`

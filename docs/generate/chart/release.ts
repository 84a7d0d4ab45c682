// Metadata of a packaged chart for Artifact Hub and offline clusters: its images and changes. Generated when the chart
// is packaged.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { parse, parseDocument, stringify } from 'yaml'

type Values = {
  readonly image: { readonly repository: string }
  readonly triton: { readonly pools: Readonly<Record<string, { readonly image: string }>> }
  readonly postgresql: { readonly image: string }
  readonly natsServer: { readonly image: string }
  readonly versitygw: { readonly image: string }
}
type Image = { readonly name: string; readonly image: string }

/** Images of an installation with default values; a test compares them with Helm's output. */
function listImages(values: Values, appVersion: string): readonly Image[] {
  const pools = Object.entries(values.triton.pools).map(([name, { image }]) => ({ name: `triton-${name}`, image }))
  return [
    { name: 'matte', image: `${values.image.repository}:${appVersion}` },
    ...pools,
    { name: 'postgresql', image: values.postgresql.image },
    { name: 'nats', image: values.natsServer.image },
    { name: 'object-store', image: values.versitygw.image },
  ]
}

/** First sentence of each entry of the newest section. @throws Error if there is no section */
export function listChanges(changelog: string): readonly string[] {
  const [, newest = ''] = changelog.split(/^## .*$/m)
  const entries = newest.split(/^- /m).slice(1)
  if (entries.length === 0) throw new Error('CHANGELOG.md has no entries in its newest section')
  return entries.map((entry) => {
    const text = entry.replaceAll(/\s+/g, ' ').trim()
    return /^.*?[.:](?= |$)/.exec(text)?.[0].replace(/[.:]$/, '') ?? text
  })
}

/** Chart.yaml for the package. */
export function writeReleaseChart(): string {
  const read = (path: string): string => readFileSync(join(rootDir, path), 'utf8')
  const document = parseDocument(read('charts/matte/Chart.yaml'))
  const values = parse(read('charts/matte/values.yaml')) as Values
  const images = listImages(values, String(document.get('appVersion')))
  document.setIn(['annotations', 'artifacthub.io/images'], stringify(images))
  document.setIn(['annotations', 'artifacthub.io/changes'], stringify(listChanges(read('CHANGELOG.md'))))
  return document.toString({ lineWidth: 0 })
}

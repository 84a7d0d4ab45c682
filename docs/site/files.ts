// All files of the built site, in memory. Names of assets contain a hash of their content.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { rolldown } from 'rolldown'
import { type Assets, layOut, notFoundPage } from './layout.ts'
import { basePath } from './page.ts'
import { buildSearchIndex } from './search-index.ts'
import { buildSite } from './site.ts'

const siteDir = import.meta.dirname

/** Files of the site by their path. */
export async function buildFiles(root: string): Promise<ReadonlyMap<string, Buffer>> {
  const found = new Map<string, Buffer>()
  const add = (name: string, content: string | Buffer): string => {
    const bytes = Buffer.from(content as string)
    const hash = createHash('sha256').update(bytes).digest('base64url').replaceAll(/[-_]/g, '').slice(0, 8)
    const path = `assets/${name.replace(extname(name), '')}-${hash}${extname(name)}`
    found.set(path, bytes)
    return `${basePath}${path}`
  }
  const pictureUrl = (file: string) => add(file.replaceAll('/', '-'), readFileSync(join(root, file)))
  const { pages } = await buildSite(root, pictureUrl)
  const client = (name: string) => readFileSync(join(siteDir, 'client', name))
  const assets: Assets = {
    style: add('style.css', client('style.css')),
    theme: add('theme.js', await bundle('theme.ts', 'iife')),
    script: add('main.js', await bundle('main.ts', 'esm')),
    index: add('search.json', JSON.stringify(buildSearchIndex(pages))),
    icon: add('icon.svg', client('icon.svg')),
  }
  for (const page of [...pages, notFoundPage]) {
    found.set(`${page.path || 'index'}.html`, Buffer.from(layOut(page, pages, assets)))
  }
  return found
}

async function bundle(file: string, format: 'esm' | 'iife'): Promise<string> {
  const built = await rolldown({ input: join(siteDir, 'client', file), platform: 'browser', logLevel: 'warn' })
  const { output } = await built.generate({ format, minify: true, codeSplitting: false, comments: false })
  await built.close()
  return output[0].code
}

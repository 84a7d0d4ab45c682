// Builds the site with VitePress and makes of it what the API serves: no inline script, Markdown beside each page, and
// compressed variants.
import { createHash } from 'node:crypto'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build, type HeadConfig } from 'vitepress'
import { fileOf } from './links.ts'
import { basePath } from './page.ts'
import { buildPages, type Site, writeIndex } from './pages.ts'

/** Quality 9 of 11: a third of the time for 3 % more bytes. */
const brotliQuality = 9

/** Smaller files fit into one packet as they are. */
const smallestBytes = 1_400

/**
 * Writes beside the target and swaps, so a reader sees the old site or the new one.
 * @returns number of pages
 */
export async function writeSite(root: string, outDir: string): Promise<number> {
  const site = await buildPages(root)
  const next = `${outDir}.next`
  // Below the repository, where VitePress finds its packages.
  mkdirSync(join(root, '.local'), { recursive: true })
  const work = mkdtempSync(join(root, '.local/site-'))
  try {
    const pagesDir = join(work, 'pages')
    writePages(site, pagesDir)
    writePictures(site, join(pagesDir, 'public'))
    await runVitePress(site, pagesDir, join(work, 'temp'), next)
    writePages(site, next)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  writeFileSync(join(next, 'llms.txt'), writeIndex(site))
  writeCompressed(next)
  rmSync(outDir, { recursive: true, force: true })
  renameSync(next, outDir)
  return site.pages.length
}

function writePages({ pages }: Site, dir: string): void {
  for (const { path, markdown } of pages) write(join(dir, fileOf(path)), markdown)
}

function writePictures({ pictures }: Site, dir: string): void {
  for (const [path, file] of pictures) cpSync(file, join(dir, path))
  cpSync(join(import.meta.dirname, 'icon.svg'), join(dir, 'icon.svg'))
}

function write(file: string, content: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
}

async function runVitePress({ sidebar }: Site, pagesDir: string, tempDir: string, outDir: string): Promise<void> {
  process.env.SITE_PAGES = pagesDir
  process.env.SITE_SIDEBAR = JSON.stringify(sidebar)
  await build(import.meta.dirname, {
    outDir,
    onAfterConfigResolve: (config) => {
      config.tempDir = tempDir
      config.cacheDir = join(tempDir, 'cache')
      config.site.head = config.site.head.map((tag) => moveScript(tag, join(pagesDir, 'public')))
    },
  })
}

/** Moves an inline script into a file: the policy of the API allows no other. */
function moveScript(tag: HeadConfig, publicDir: string): HeadConfig {
  const [name, attributes, script] = tag
  if (name !== 'script' || script === undefined) return tag
  const path = `assets/inline.${createHash('sha256').update(script).digest('hex').slice(0, 8)}.js`
  write(join(publicDir, path), script)
  return ['script', { ...attributes, src: `${basePath}${path}` }]
}

function writeCompressed(dir: string): void {
  for (const name of globSync('**/*.{css,html,js,json,md,svg,txt}', { cwd: dir })) {
    const file = join(dir, name)
    const content = readFileSync(file)
    if (content.length < smallestBytes) continue
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: brotliQuality,
      [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    }
    writeFileSync(`${file}.br`, brotliCompressSync(content, { params }))
    writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }))
  }
}

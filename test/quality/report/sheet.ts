// Page with every cut-out at full size on four grounds. The browser composites, so the folder has one file per cut-out
// and no script.
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import type { Picture } from '../data/case.ts'
import type { Scores } from '../metrics/measure.ts'

export type Sheet = ReturnType<typeof createSheet>

export type Shown = { readonly variant: string; readonly rgba: Uint8Array; readonly scores: Scores | null }

export function createSheet(folder: string) {
  const sections: string[] = []
  return {
    async clear(): Promise<void> {
      await rm(join(folder, 'images'), { recursive: true, force: true })
      await mkdir(join(folder, 'images'), { recursive: true })
    },
    async add({ name, file, path, truth }: Picture, shown: readonly Shown[]): Promise<void> {
      const photo = `${name}${path.slice(path.lastIndexOf('.'))}`
      await writeFile(join(folder, 'images', photo), file)
      const figures = [buildFigure(photo, 'photo', null)]
      for (const { variant, rgba, scores } of [{ variant: 'truth', rgba: truth.rgba, scores: null }, ...shown]) {
        const image = `${name}.${variant}.png`
        const raw = { width: truth.width, height: truth.height, channels: 4 as const }
        const pixels = sharp(rgba, { raw, limitInputPixels: false })
        await pixels.png({ compressionLevel: 3 }).toFile(join(folder, 'images', image))
        figures.push(buildFigure(image, variant, scores))
      }
      sections.push(
        `<section style="--w:${truth.width}"><h2>${quote(name)}, ${truth.width} × ${truth.height}</h2>` +
          `<div>${figures.join('')}</div></section>`,
      )
    },
    /** Returns the page's path. */
    async write(tables: string): Promise<string> {
      const page = join(folder, 'index.html')
      await writeFile(page, buildPage(tables, sections))
      return page
    },
  }
}

function buildFigure(image: string, title: string, scores: Scores | null): string {
  const numbers = scores && `mad ${scores.mad.toPrecision(3)}, grad ${scores.grad.toPrecision(3)}`
  const address = `images/${encodeURIComponent(image)}`
  return (
    `<figure><a href="${address}"><img src="${address}" loading="lazy" alt=""></a>` +
    `<figcaption>${quote(title)}${numbers ? ` <small>${numbers}</small>` : ''}</figcaption></figure>`
  )
}

const grounds = {
  checker: 'background: repeating-conic-gradient(#ccc 0 25%, #fff 0 50%) 0 0 / 20px 20px',
  black: 'background: #000',
  white: 'background: #fff',
  magenta: 'background: #f0f',
}

const zooms = {
  'a quarter': 'width: calc(var(--w) * 0.25px)',
  half: 'width: calc(var(--w) * 0.5px)',
  'full size': 'width: calc(var(--w) * 1px)',
  'three times': 'width: calc(var(--w) * 3px); image-rendering: pixelated',
}

function buildPage(tables: string, sections: readonly string[]): string {
  const choices = [...choose('ground', grounds, 'checker'), ' ', ...choose('zoom', zooms, 'full size')]
  const rules = [...Object.entries(grounds), ...Object.entries(zooms)].map(
    ([name, rule]) => `body:has(#${idOf(name)}:checked) img { ${rule} }`,
  )
  return `<!doctype html>
<meta charset="utf-8"><title>Cut-outs</title>
<style>
body { font: 14px/1.4 sans-serif; margin: 0 16px; }
nav { position: sticky; top: 0; left: 0; background: #fffe; padding: 8px 0; z-index: 1; }
section > div { display: flex; gap: 12px; align-items: start; }
figure { margin: 0; } img { display: block; } h2 { font-size: 14px; } pre { font-size: 12px; }
${rules.join('\n')}
</style>
<nav>${choices.join(' ')}</nav>
<details><summary>Numbers</summary><pre>${quote(tables)}</pre></details>
${sections.join('\n')}
`
}

const choose = (group: string, options: Readonly<Record<string, string>>, first: string): string[] =>
  Object.keys(options).map((name) => {
    const checked = name === first ? ' checked' : ''
    return `<label><input type="radio" name="${group}" id="${idOf(name)}"${checked}> ${name}</label>`
  })

const idOf = (name: string): string => name.replace(' ', '-')

const quote = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

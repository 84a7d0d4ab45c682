import type { Plugin } from './packages.ts'

/** Places in VitePress's components where a screen reader would hear a button in a button, or another name than is shown. */
const changes: readonly (readonly [file: string, found: RegExp, instead: string])[] = [
  ['VPSidebarItem.vue', /role="button"\s+aria-label="toggle section"([^>]*?)\s+tabindex="0"/, '$1'],
  [
    'VPLocalSearchBox.vue',
    /role="button"\s+:aria-owns="[^"]*"\s+aria-expanded="true"\s+aria-haspopup="listbox"/,
    'role="dialog" aria-modal="true"',
  ],
  ['VPLocalSearchBox.vue', /\s:aria-label="\[\.\.\.p\.titles[^"]*"/, ''],
  ['VPLocalSearchBox.vue', /<kbd :aria-label/g, '<kbd role="img" :aria-label'],
]

export const makeAccessible = (): Plugin => ({
  name: 'accessible',
  enforce: 'pre',
  transform(code, id) {
    const own = changes.filter(([file]) => id.endsWith(`/theme-default/components/${file}`))
    return own.length === 0 ? undefined : own.reduce((text, [, found, instead]) => text.replace(found, instead), code)
  },
})

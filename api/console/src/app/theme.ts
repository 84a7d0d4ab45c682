// Light or dark, as the system has it or as the person chose in this browser.
import { useSyncExternalStore } from 'react'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const storageName = 'matte-theme'
const listeners = new Set<() => void>()

const read = (): Theme => themes.find((theme) => theme === localStorage.getItem(storageName)) ?? 'system'

const apply = (theme: Theme): void => {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

export function startTheme(): void {
  apply(read())
}

export function setTheme(theme: Theme): void {
  localStorage.setItem(storageName, theme)
  apply(theme)
  for (const listener of listeners) listener()
}

export const useTheme = (): Theme =>
  useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, read)

import { useNavigate, useSearch } from '@tanstack/react-router'
import { type TabOf, Tabs } from './tabs.tsx'

type PageTabsProps = { readonly label: string; readonly tabs: readonly TabOf[] }

/** Tabs of a page. The address names the open one, so a link can lead to it. */
export function PageTabs({ label, tabs }: PageTabsProps) {
  const { tab } = useSearch({ strict: false })
  const navigate = useNavigate()
  const selected = tabs.find(({ id }) => id === tab) ?? tabs[0]
  return (
    <Tabs
      label={label}
      tabs={tabs}
      selected={selected?.id}
      onSelect={(id) => void navigate({ to: '.', search: { tab: id }, replace: true })}
    />
  )
}

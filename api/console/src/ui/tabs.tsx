import type { ReactNode } from 'react'
import { Tabs as AriaTabs, Tab, TabList, TabPanel } from 'react-aria-components'
import styles from './tabs.module.css'

export type TabOf = { readonly id: string; readonly title: string; readonly content: ReactNode }

type TabsProps = {
  readonly label: string
  readonly tabs: readonly TabOf[]
  readonly selected?: string | undefined
  readonly onSelect?: ((id: string) => void) | undefined
}

export const Tabs = ({ label, tabs, selected, onSelect }: TabsProps) => (
  <AriaTabs
    {...(selected !== undefined && { selectedKey: selected })}
    {...(onSelect !== undefined && { onSelectionChange: (key) => onSelect(String(key)) })}
  >
    <TabList aria-label={label} className={styles.list}>
      {tabs.map(({ id, title }) => (
        <Tab key={id} id={id} className={styles.tab}>
          {title}
        </Tab>
      ))}
    </TabList>
    {tabs.map(({ id, content }) => (
      <TabPanel key={id} id={id} className={styles.panel}>
        {content}
      </TabPanel>
    ))}
  </AriaTabs>
)

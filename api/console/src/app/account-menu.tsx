import { useNavigate } from '@tanstack/react-router'
import { Button, Header, Menu, MenuItem, MenuSection, MenuTrigger, Popover } from 'react-aria-components'
import type { Session } from '../session/session.ts'
import { useSessionStore } from '../session/use-session.ts'
import { isLocale, type Locale, locales, useText } from '../text/text.ts'
import buttons from '../ui/button.module.css'
import menus from '../ui/menu.module.css'
import styles from './account-menu.module.css'
import { shellText } from './shell-text.ts'
import { setTheme, themes, useTheme } from './theme.ts'

const languages: Readonly<Record<Locale, string>> = { en: 'English', de: 'Deutsch' }

type AccountMenuProps = {
  readonly session: Session
  readonly locale: Locale
  readonly onLocale: (locale: Locale) => void
}

export function AccountMenu({ session, locale, onLocale }: AccountMenuProps) {
  const text = useText(shellText)
  const store = useSessionStore()
  const navigate = useNavigate()
  const theme = useTheme()
  const name =
    session.kind === 'member'
      ? (session.user.name ?? session.user.email)
      : session.kind === 'key'
        ? text.byKey
        : text.asOperator
  const act = (id: string): void => {
    if (id === 'account') void navigate({ to: '/account' })
    if (id === 'sign-out') void store.signOut().then(() => navigate({ to: '/' }))
  }
  return (
    <MenuTrigger>
      <Button
        aria-label={session.kind === 'member' ? text.accountOf(name) : name}
        className={`${buttons.button} ${buttons.quiet} ${styles.trigger}`}
      >
        <span className={styles.avatar} aria-hidden="true">
          {session.kind === 'member' ? name.slice(0, 1).toUpperCase() : '⚷'}
        </span>
      </Button>
      <Popover className={menus.popover} placement="bottom end">
        <p className={styles.name}>{name}</p>
        <Menu className={menus.menu} onAction={(key) => act(String(key))} aria-label={text.account}>
          {session.kind === 'member' ? (
            <MenuItem id="account" className={menus.item}>
              {text.account}
            </MenuItem>
          ) : null}
          <MenuSection
            selectionMode="single"
            selectedKeys={[theme]}
            onSelectionChange={(keys) => setTheme(themes.find((one) => keys !== 'all' && keys.has(one)) ?? 'system')}
          >
            <Header className={styles.header}>{text.theme.label}</Header>
            {themes.map((one) => (
              <MenuItem key={one} id={one} className={`${menus.item} ${styles.choice}`}>
                {text.theme[one]}
              </MenuItem>
            ))}
          </MenuSection>
          <MenuSection
            selectionMode="single"
            selectedKeys={[locale]}
            onSelectionChange={(keys) => {
              const chosen = [...(keys === 'all' ? [] : keys)].map(String).find(isLocale)
              if (chosen !== undefined) onLocale(chosen)
            }}
          >
            <Header className={styles.header}>{text.language}</Header>
            {locales.map((one) => (
              <MenuItem key={one} id={one} className={`${menus.item} ${styles.choice}`}>
                {languages[one]}
              </MenuItem>
            ))}
          </MenuSection>
          <MenuItem id="sign-out" className={menus.item}>
            {text.signOut}
          </MenuItem>
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}

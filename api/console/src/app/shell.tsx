// The frame of every page: navigation at the side, or behind a button on a narrow screen.
import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { type ReactNode, Suspense, useEffect, useRef, useState } from 'react'
import { useSession } from '../session/use-session.ts'
import { settingsQuery } from '../settings.ts'
import { type Locale, useText } from '../text/text.ts'
import { IconButton, LinkButton } from '../ui/button.tsx'
import { lazyPart } from './lazy-part.tsx'
import { type Group, navigationOf } from './navigation.ts'
import { NewerBuildNote } from './newer-build-note.tsx'
import { NotificationBadge } from './notification-badge.tsx'
import styles from './shell.module.css'
import { shellText } from './shell-text.ts'
import { useIsOnline } from './use-is-online.ts'

// Menus are loaded once there is a session.
const AccountMenu = lazyPart(async () => (await import('./account-menu.tsx')).AccountMenu)
const WorkspaceSwitch = lazyPart(async () => (await import('./workspace-switch.tsx')).WorkspaceSwitch)

type ShellProps = {
  readonly locale: Locale
  readonly onLocale: (locale: Locale) => void
  readonly children: ReactNode
}

export function Shell({ locale, onLocale, children }: ShellProps) {
  const text = useText(shellText)
  const session = useSession()
  const { data: settings } = useQuery(settingsQuery)
  const [isOpen, setIsOpen] = useState(false)
  const main = useRef<HTMLElement>(null)
  const { pathname } = useLocation()
  const isOnline = useIsOnline()
  const lastPath = useRef(pathname)
  useEffect(() => {
    if (lastPath.current === pathname) return
    lastPath.current = pathname
    setIsOpen(false)
    // A screen reader goes on at the new page.
    main.current?.focus({ preventScroll: true })
  }, [pathname])
  const isSignedIn = session.kind === 'member' || session.kind === 'key' || session.kind === 'operator'
  return (
    <div className={styles.shell}>
      <a className={styles.skip} href="#content">
        {text.skip}
      </a>
      <header className={styles.header}>
        <span className={styles.menuButton}>
          <IconButton
            label={isOpen ? text.closeMenu : text.menu}
            onPress={() => setIsOpen(!isOpen)}
            aria-expanded={isOpen}
            aria-controls="navigation"
          >
            <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
              <path
                d={isOpen ? 'M4 4l12 12M16 4L4 16' : 'M2 5h16M2 10h16M2 15h16'}
                stroke="currentColor"
                strokeWidth="2"
              />
            </svg>
          </IconButton>
        </span>
        <Link to="/" className={styles.brand} aria-label="Matte">
          <img src="/assets/static/icon.svg" alt="" width="26" height="26" />
          <span>Matte</span>
        </Link>
        <span className={styles.space} />
        <Suspense fallback={null}>{session.kind === 'member' && <WorkspaceSwitch session={session} />}</Suspense>
        {session.kind === 'member' && <NotificationBadge />}
        {session.kind === 'none' && (
          <>
            {settings?.accounts === true && settings.registration === 'open' && (
              <span className={styles.wideOnly}>
                <LinkButton to="/sign-up" look="quiet">
                  {text.signUp}
                </LinkButton>
              </span>
            )}
            <LinkButton to="/sign-in" look="primary">
              {text.signIn}
            </LinkButton>
          </>
        )}
        <Suspense fallback={<span className={styles.avatarSpace} />}>
          {isSignedIn && <AccountMenu session={session} locale={locale} onLocale={onLocale} />}
        </Suspense>
      </header>
      <nav id="navigation" className={`${styles.navigation} ${isOpen ? styles.open : ''}`} aria-label={text.main}>
        <Navigation groups={navigationOf(session, settings)} />
        <div className={styles.foot}>
          <a href="/docs/" className={styles.entry}>
            {text.docs}
          </a>
          {settings !== undefined && <span className={styles.version}>Matte {settings.version}</span>}
        </div>
      </nav>
      <main id="content" ref={main} tabIndex={-1} className={styles.main}>
        {!isOnline && (
          <p role="status" className={styles.note}>
            {text.offline}
          </p>
        )}
        <NewerBuildNote />
        {children}
      </main>
    </div>
  )
}

function Navigation({ groups }: { readonly groups: readonly Group[] }) {
  const text = useText(shellText)
  return groups.map(({ name, entries }) => (
    <div key={name ?? 'first'} className={styles.group}>
      {name !== undefined && <p className={styles.groupName}>{text.navigation[name]}</p>}
      <ul>
        {entries.map((entry) => (
          <li key={entry.to}>
            <Link
              to={entry.to}
              className={styles.entry}
              activeOptions={{ exact: entry.to === '/' || entry.to === '/operator' }}
              activeProps={{ 'aria-current': 'page' }}
            >
              {text.navigation[entry.name]}
            </Link>
          </li>
        ))}
      </ul>
    </div>
  ))
}

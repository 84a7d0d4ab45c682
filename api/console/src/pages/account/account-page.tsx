import { useSession } from '../../session/use-session.ts'
import { useText } from '../../text/text.ts'
import { Page } from '../../ui/page.tsx'
import { PageTabs } from '../../ui/page-tabs.tsx'
import { accountText } from './account-text.ts'
import { DataTab } from './data-tab.tsx'
import { PreferencesTab } from './preferences-tab.tsx'
import { ProfileTab } from './profile-tab.tsx'
import { ReferralTab } from './referral-tab.tsx'
import { SecurityTab } from './security-tab.tsx'
import { SessionsTab } from './sessions-tab.tsx'

export function AccountPage() {
  const text = useText(accountText)
  const session = useSession()
  if (session.kind !== 'member') return null
  const { user } = session
  const tabs = [
    { id: 'profile', title: text.tabs.profile, content: <ProfileTab user={user} /> },
    { id: 'security', title: text.tabs.security, content: <SecurityTab user={user} /> },
    { id: 'sessions', title: text.tabs.sessions, content: <SessionsTab /> },
    { id: 'notifications', title: text.tabs.notifications, content: <PreferencesTab /> },
    { id: 'referral', title: text.tabs.referral, content: <ReferralTab /> },
    { id: 'data', title: text.tabs.data, content: <DataTab user={user} /> },
  ]
  return (
    <Page title={text.title} lede={text.lede(user.email)}>
      <PageTabs label={text.title} tabs={tabs} />
    </Page>
  )
}

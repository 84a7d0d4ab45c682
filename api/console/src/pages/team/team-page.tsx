import { Page } from '../../ui/page.tsx'

export const TeamPage = () => <Page title="Team">…</Page>

import { Page } from '../../ui/page.tsx'

export const CreditsPage = () => <Page title="Credits">…</Page>

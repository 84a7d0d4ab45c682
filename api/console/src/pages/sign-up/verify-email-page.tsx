import { Page } from '../../ui/page.tsx'

export const VerifyEmailPage = () => <Page title="Verify email">…</Page>

import { Page } from '../../ui/page.tsx'

export const ResetPasswordPage = () => <Page title="Reset password">…</Page>

import { Page } from '../../ui/page.tsx'

export const ForgotPasswordPage = () => <Page title="Forgot password">…</Page>

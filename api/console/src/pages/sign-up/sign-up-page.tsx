import { Page } from '../../ui/page.tsx'

export const SignUpPage = () => <Page title="Sign up">…</Page>

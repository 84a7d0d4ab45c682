/** Where pages for people are, below the origin of the API. Without `APP_URL`, links in mails begin with it. */
export const pagesPath = '/api/v1/app/pages'

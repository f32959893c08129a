// Turns a logged request into what `gatehouse explain` takes, safe to be pasted into a shell.

/** Where requests can be explained. */
export interface ExplainWhere {
  /** Address of the status page as bound. */
  readonly address: string
  readonly needsToken: boolean
  /** Whether every listener has TLS. */
  readonly isTls: boolean
}

interface LoggedRequest {
  readonly method: string
  readonly host: string
  /** Without a query. */
  readonly path: string
}

const METHOD = /^[A-Z]{1,20}$/
/** Printable ASCII without spaces: control characters could do harm in a terminal. */
const PRINTABLE = /^[\x21-\x7e]+$/

/** Returns METHOD URL; undefined: the request cannot be written so. */
export function requestToExplain(
  { method, host, path }: LoggedRequest,
  { isTls }: ExplainWhere,
): string | undefined {
  const url = `${isTls ? 'https' : 'http'}://${host}${path}`
  if (!METHOD.test(method) || !PRINTABLE.test(url) || !path.startsWith('/')) return undefined
  if (host === '' || !URL.canParse(url)) return undefined
  return `${method} ${url}`
}

/** Whether the text is METHOD URL in characters that do no harm in a terminal. */
export const fitsCommand = (request: string): boolean =>
  /^[A-Z]{1,20} https?:\/\/[\x21-\x7e]+$/.test(request)

/** Returns the command line, whose arguments a shell takes literally. */
export const explainCommand = (request: string, { address, needsToken }: ExplainWhere): string =>
  [
    'gatehouse',
    'explain',
    '--admin',
    address,
    ...(needsToken ? ['--admin-token-file', 'ADMIN_TOKEN'] : []),
    '--token',
    'TOKEN_FILE',
    '--request',
    quoted(request),
  ].join(' ')

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

// Reads the token that the pages of the admin server require from a file, which is created at startup if missing.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'

/** The token of the admin pages, read from its file. */
export interface TokenFile {
  /** Whether an Authorization header carries the token. Rejects when the file cannot be read any more. */
  isGiven(authorization: string | undefined): Promise<boolean>
}

const TOKEN_BYTES = 32
/** Least length of a token, in characters: a shorter one could be guessed. */
const SHORTEST = 16

/** Rejects with a message for a person when the file holds no token or can be neither read nor created. */
export async function openTokenFile(path: string): Promise<TokenFile> {
  await makeToken(path)
  await readToken(path)
  return {
    isGiven: async (authorization) => {
      const given = givenToken(authorization)
      // The file is read each time because a mounted Secret changes.
      return given !== undefined && isSame(given, await readToken(path))
    },
  }
}

async function makeToken(path: string): Promise<void> {
  const token = `${randomBytes(TOKEN_BYTES).toString('base64url')}\n`
  try {
    await writeFile(path, token, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST')
      throw new Error(`--admin-token-file ${path} cannot be made: ${message}`, { cause: error })
  }
}

async function readToken(path: string): Promise<string> {
  const token = (await readText(path)).trim()
  if (token.length < SHORTEST)
    throw new Error(
      `--admin-token-file ${path}: expected a token of at least ${SHORTEST} characters`,
    )
  return token
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const { message } = error as NodeJS.ErrnoException
    throw new Error(`--admin-token-file ${path} cannot be read: ${message}`, { cause: error })
  }
}

/** Reads the token from a bearer or basic (RFC 7617, as browsers send it) Authorization header. */
function givenToken(authorization = ''): string | undefined {
  const space = authorization.indexOf(' ')
  const scheme = authorization.slice(0, Math.max(space, 0)).toLowerCase()
  const rest = authorization.slice(space + 1).trim()
  if (scheme === 'bearer') return rest
  if (scheme !== 'basic') return undefined
  const pair = Buffer.from(rest, 'base64').toString('utf8')
  const colon = pair.indexOf(':')
  return colon < 0 ? undefined : pair.slice(colon + 1)
}

/** Compares the tokens in constant time. */
const isSame = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b))

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

// Authorization servers as people run them: oidc-provider, which is certified for OpenID Connect. Each keeps everything in
// memory, and lets everybody in as "alice", without a question. The process listens on the port in PORT; POST /start there
// starts a server on a port of its own, and answers {"port"}. It wants a JSON object:
//
//	path            the path of the issuer, "" for none
//	discovery       the only path at which there is metadata, "" for the usual ones
//	methods         the ways in which a client can say who it is, null for all
//	robotSecret, robotKeys, resourceSecret  those of the clients that act by themselves, and of the MCP server
//
// What a person would do otherwise, and what an operator does, is set at /control of that server, with a JSON object:
//
//	deny      the person says no
//	ttl       how many seconds access tokens are good for
//	nonce     DPoP proofs need a nonce
//	resource  tokens are given for this MCP server alone
//	delete    forget the client of that id, as an operator does who cleans up
//
// The answer tells what was asked of it: {"authorizations", "registrations", "tokens": {GRANT: number}}.
import { createServer } from 'node:http';

import Provider, { errors } from 'oidc-provider';

const robot = (id, method, more) => ({
  client_id: id,
  token_endpoint_auth_method: method,
  grant_types: ['client_credentials'],
  response_types: [],
  redirect_uris: [],
  ...more,
});

const scopes = ['mcp:read', 'mcp:write'];

const read = async (req) => {
  let body = '';
  for await (const chunk of req) body += chunk;
  return JSON.parse(body);
};
const answer = (res, document) => {
  res.writeHead(200, { 'content-type': 'application/json' });
  res.end(JSON.stringify(document));
};

// authorizationServer returns what an authorization server on a port answers.
const authorizationServer = (port, o) => {
  const path = o.path;
  const issuer = `http://127.0.0.1:${port}${path}`;
  const settings = { deny: false, ttl: 3600, nonce: false, resource: '' };
  const counts = { authorizations: 0, registrations: 0, tokens: {} };
  const provider = new Provider(issuer, {
    clients: [
      robot('robot-basic', 'client_secret_basic', { client_secret: o.robotSecret }),
      robot('robot-post', 'client_secret_post', { client_secret: o.robotSecret }),
      robot('robot-jwt', 'private_key_jwt', { jwks: o.robotKeys }),
      // With these the MCP server asks whether a token is good.
      robot('resource-server', 'client_secret_post', { client_secret: o.resourceSecret, grant_types: [] }),
    ].filter((client) => !o.methods || o.methods.includes(client.token_endpoint_auth_method)),
    scopes,
    ttl: { AccessToken: () => settings.ttl, ClientCredentials: () => settings.ttl, RefreshToken: 3600, Grant: 3600, Session: 3600, Interaction: 600, IdToken: 600 },
    findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    issueRefreshToken: async (ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: () => true,
    expiresWithSession: async () => false,
    // In place of all the ways in which a client can say who it is.
    ...(o.methods && { clientAuthMethods: o.methods }),
    cookies: { keys: ['a key of a test'] },
    interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      revocation: { enabled: true },
      introspection: { enabled: true, allowedPolicy: (ctx, client) => client.clientId === 'resource-server' },
      clientCredentials: { enabled: true },
      dPoP: { enabled: true, nonceSecret: Buffer.alloc(32, 1), requireNonce: () => settings.nonce },
      resourceIndicators: {
        enabled: true,
        // Whoever does not say for which server a token is, gets one that is for none, also when it is refreshed.
        getResourceServerInfo: (ctx, resource) => {
          if (resource !== settings.resource) throw new errors.InvalidTarget();
          return { scope: scopes.join(' '), audience: resource, accessTokenTTL: settings.ttl, accessTokenFormat: 'opaque' };
        },
        useGrantedResource: () => false,
      },
    },
  });

  provider.on('authorization.success', () => { counts.authorizations += 1; });
  provider.on('registration_create.success', () => { counts.registrations += 1; });
  const count = (ctx, outcome) => {
    const grant = `${ctx.oidc.params?.grant_type ?? 'none'}${outcome}`;
    counts.tokens[grant] = (counts.tokens[grant] ?? 0) + 1;
  };
  provider.on('grant.success', (ctx) => count(ctx, ''));
  provider.on('grant.error', (ctx) => count(ctx, ' refused'));
  provider.on('server_error', (ctx, err) => console.error(err));

  // interact is the page of the authorization server at which a person logs in and says yes.
  const interact = async (req, res) => {
    const { prompt, params, session, grantId } = await provider.interactionDetails(req, res);
    if (settings.deny) {
      await provider.interactionFinished(req, res, { error: 'access_denied', error_description: 'The person has said no' });
      return;
    }
    if (prompt.name === 'login') {
      await provider.interactionFinished(req, res, { login: { accountId: 'alice' } });
      return;
    }
    const grant = grantId ? await provider.Grant.find(grantId) : new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    if (prompt.details.missingOIDCScope) grant.addOIDCScope(prompt.details.missingOIDCScope.join(' '));
    for (const [resource, missing] of Object.entries(prompt.details.missingResourceScopes ?? {})) {
      grant.addResourceScope(resource, missing.join(' '));
    }
    await provider.interactionFinished(req, res, { consent: { grantId: await grant.save() } }, { mergeWithLastSubmission: true });
  };

  const control = async (req, res) => {
    const { delete: client, ...rest } = await read(req) ?? {};
    Object.assign(settings, rest);
    if (client) await provider.Client.adapter.destroy(client);
    answer(res, counts);
  };

  const provide = provider.callback();
  const serve = (req, res) => {
    req.originalUrl = req.url;
    if (o.discovery && req.url.includes('/.well-known/')) {
      if (req.url === o.discovery) req.url = '/.well-known/openid-configuration';
      else req.url = '/nothing';
      req.originalUrl = `${path}${req.url}`;
    } else if (path && req.url.startsWith(`${path}/`)) {
      req.url = req.url.slice(path.length);
    }
    provide(req, res);
  };
  return async (req, res) => {
    if (req.url === '/control') await control(req, res);
    else if (req.url.startsWith('/interaction/')) await interact(req, res);
    else serve(req, res);
  };
};

// listen serves what handle answers, which gets the port, and returns that.
const listen = (port, handle) => new Promise((resolve) => {
  const server = createServer(async (req, res) => {
    try {
      await handler(req, res);
    } catch (err) {
      console.error(err);
      res.writeHead(500).end();
    }
  });
  let handler;
  server.listen(port, '127.0.0.1', () => {
    handler = handle(server.address().port);
    resolve(server.address().port);
  });
});

await listen(Number(process.env.PORT), () => async (req, res) => {
  const o = await read(req);
  answer(res, { port: await listen(0, (port) => authorizationServer(port, o)) });
});

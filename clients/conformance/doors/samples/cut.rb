require 'net/http'

uri = URI('https://api.remove.bg/v1.0/removebg')
request = Net::HTTP::Post.new(uri, 'X-Api-Key' => ENV.fetch('REMOVE_BG_API_KEY'))
request.set_form([['image_file', File.open('photo.png', 'rb')], %w[size full]], 'multipart/form-data')
response = Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == 'https') { |http| http.request(request) }
response.value
File.binwrite('no-bg.png', response.body)
